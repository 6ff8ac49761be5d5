"""Both generations of donkeycar: the channels of its IMU, and a drive page that was packed without its files."""

from types import SimpleNamespace

import pytest
from donkeycar.parts.web_controller.web import LocalWebController
from donkeycar.vehicle import Vehicle

from donkey_aicc.car import cockpit_actions, generation
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.web.page_wheel import PageWheel


@pytest.mark.parametrize(("installed", "imu"), [("5.3.0", "imu/acl_x"), ("5.4.0", "imu/accel"), ("6.0.dev1", "imu/accel")])
def test_the_imu_of_each_generation(monkeypatch, installed, imu):
    monkeypatch.setattr(generation.importlib.metadata, "version", lambda name: installed)
    assert next(iter(generation.imu_channels())) == imu


def test_the_installed_generation_writes_the_channels_that_we_record():
    import inspect

    from donkeycar.templates.complete import add_imu

    assert all(f"'{name}'" in inspect.getsource(add_imu) for name in generation.imu_channels())


@pytest.mark.parametrize("packed", [True, False])
def test_a_drive_page_without_its_files_is_told_with_the_remedy(monkeypatch, tmp_path, packed):
    if packed:
        (tmp_path / generation.STATIC).mkdir(parents=True)
    monkeypatch.setattr(generation, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
    told = generation.dead_drive_page()
    assert told is None if packed else "/aicc" in told and str(tmp_path / generation.STATIC) in told


class Throttle:
    """Outputs the user's throttle; as donkeycar's controllers of any kind do."""

    def run(self, *inputs):
        return 0.0


@pytest.mark.parametrize(("reads", "offered"), [((), False), (("user/throttle",), True)])
def test_the_page_offers_its_wheel_only_where_it_would_be_heard(reads, offered):
    car = Assembly(Vehicle(), SimpleNamespace(), AiccConfig())
    page = LocalWebController(port=0)
    car.V.add(page, outputs=["user/steering", "user/throttle"])
    car.V.add(Throttle(), inputs=list(reads), outputs=["user/throttle"])  # a game controller, or a filter
    assert bool(cockpit_actions.steering_action(car, page, PageWheel(page))) is offered
