"""HeadlessController: stands in for the web page when nobody is there to press its buttons."""


class HeadlessController:
    """The web controller's outputs with the pilot driving and the recording on."""

    outputs = ("user/steering", "user/throttle", "user/mode", "recording", "web/buttons")

    def run(self) -> tuple[float, float, str, bool, dict[str, bool]]:
        """steering, throttle, mode, recording, buttons: in the order of `outputs`."""
        return 0.0, 0.0, "local", True, {}
