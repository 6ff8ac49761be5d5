"""How many steps the gymnasium environment makes on one core, per second of this process's CPU time; wanted beside it."""

import time

import cv2
import gymnasium
import numpy as np

import donkey_aicc.gym as ours

STEPS, CARS = 3000, 4
ACTION = np.array([0.0, 0.3], np.float32)


def main() -> None:
    cv2.setNumThreads(1)
    for size, wanted in ((64, 64), 2000), ((120, 160), 200):
        env = gymnasium.make(ours.env_id("loop"), cam_resolution=(*size, 3), start="random")
        env.reset(seed=1)
        began = time.process_time()
        for _ in range(STEPS):
            if env.step(ACTION)[2]:
                env.reset()
        rate = STEPS / (time.process_time() - began)
        print(f"gymnasium, one car, {size[1]}x{size[0]}: {rate:.0f} steps/s, resets included; wanted {wanted}")
    many = gymnasium.make_vec(ours.env_id("loop"), CARS, vectorization_mode="sync", cam_resolution=(64, 64, 3), start="random")
    many.reset(seed=1)
    began = time.process_time()
    for _ in range(STEPS // CARS):
        many.step(np.stack([ACTION] * CARS))
    rate = STEPS // CARS * CARS / (time.process_time() - began)
    print(f"gymnasium, make_vec of {CARS} cars in one process, 64x64: {rate:.0f} steps/s of all together")


if __name__ == "__main__":
    main()
