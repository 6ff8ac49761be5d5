import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.video import Video


def test_frames_come_with_their_times(make_video):
    frames = [np.full((48, 64, 3), 20 * number, np.uint8) for number in range(10)]
    video = Video(make_video(frames, rate_hz=25.0))
    assert video.info.size_px == (64, 48)
    read = list(video.frames())
    assert [time_s for time_s, _ in read] == pytest.approx(np.arange(10) / 25.0, abs=1e-3)
    assert [round(float(frame.mean()) / 20) for _, frame in read] == list(range(10))


def test_a_frame_at_a_time_and_beyond_the_end(make_video):
    video = Video(make_video([np.full((48, 64, 3), 20 * number, np.uint8) for number in range(10)], rate_hz=10.0))
    assert video.frame_at(0.4).mean() == pytest.approx(80, abs=3)
    assert video.frame_at(99.0).mean() == pytest.approx(180, abs=3)


def test_what_is_no_video_is_refused(tmp_path):
    with pytest.raises(AiccError, match="no such file"):
        Video(tmp_path / "none.mp4")
    (tmp_path / "text.mp4").write_text("not a video")
    with pytest.raises(AiccError, match="damaged or of a format"):
        Video(tmp_path / "text.mp4")
