"""What a test hands to the scorer as its `make_stream`: real streams or stand-ins, watched."""

import threading


class Streams:
    """Stream factory. `make` (pause -> stream) and `before` (called with each frame, may raise or wait) can be exchanged."""

    def __init__(self, make):
        self.make = make
        self.before = lambda frame: None
        self.threads = []  # of the streams that were made for one, in order
        self.taken = 0  # frames, with those that were jumped over

    def __call__(self, pause=None):
        if pause is not None:
            self.threads.append(threading.current_thread())
        stream = self.make(pause)
        take = stream.take

        def watched(frame, unseen=()):
            self.taken += 1 + len(unseen)
            self.before(frame)
            return take(frame, unseen)

        stream.take = watched
        return stream
