"""Other cars on the floor, as the camera sees them: boxes in the colour of their bodies."""

import math
from dataclasses import dataclass

import cv2
import numpy as np

_LENGTH_M, _WIDTH_M, _HEIGHT_M = 0.30, 0.18, 0.12
_REAR_M = 0.065  # behind the rear axle
_NEAREST_M = 0.06  # of a corner: nearer, it would be behind the lens
_SHADE = {"top": 1.0, "side": 0.7}


@dataclass(frozen=True)
class OtherCar:
    """Pose of its rear axle, and its colour."""

    x: float
    y: float
    yaw: float
    rgb: tuple[int, int, int] = (128, 128, 128)


def draw_cars(
    image: np.ndarray, cars: list[OtherCar], eye: tuple[float, float, float], yaw: float, ray_from_pixel: np.ndarray
) -> None:
    """Into a picture taken from eye (x, y, height) in the direction yaw; ray_from_pixel: (3, 3), see Camera."""
    pixel_from_ray = np.linalg.inv(ray_from_pixel)
    turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
    for car in sorted(cars, key=lambda each: -math.hypot(each.x - eye[0], each.y - eye[1])):
        ahead, left = np.array([math.cos(car.yaw), math.sin(car.yaw)]), np.array([-math.sin(car.yaw), math.cos(car.yaw)])
        floor = [
            (car.x, car.y) + along * ahead + side * left
            for along, side in (
                (-_REAR_M, -0.5 * _WIDTH_M),
                (_LENGTH_M - _REAR_M, -0.5 * _WIDTH_M),
                (_LENGTH_M - _REAR_M, 0.5 * _WIDTH_M),
                (-_REAR_M, 0.5 * _WIDTH_M),
            )
        ]
        flat = (np.array(floor) - eye[:2]) @ turn.T  # forward, left
        if flat[:, 0].min() < _NEAREST_M:
            continue
        corners = {name: np.column_stack([flat, np.full(4, up - eye[2])]) for name, up in (("floor", 0.0), ("top", _HEIGHT_M))}
        pixels = {name: rays @ pixel_from_ray.T for name, rays in corners.items()}
        shown = {name: (at[:, :2] / at[:, 2:]).clip(-4096, 4096).round().astype(np.int32) for name, at in pixels.items()}
        hull = cv2.convexHull(np.vstack([shown["floor"], shown["top"]]))
        for part, shade in ((hull, _SHADE["side"]), (shown["top"], _SHADE["top"])):
            cv2.fillConvexPoly(image, part, tuple(shade * value for value in car.rgb), cv2.LINE_AA)
