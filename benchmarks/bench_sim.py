"""How many ticks the embedded simulator makes per second on one core, camera included."""

import time

import cv2

from donkey_aicc.simulator.drivers import Expert
from donkey_aicc.simulator.tracks import TRACK_NAMES
from donkey_aicc.simulator.world import World

STEPS = 1500


def steps_per_second(name: str) -> tuple[float, float]:
    """(by the wall clock, by this process's own CPU time): they differ when the machine is busy with other work."""
    world = World(name, seed=1)
    expert, seen = Expert(world.track), world.observe()
    inside_wall_s = inside_cpu_s = 0.0
    for _ in range(STEPS):
        command = expert.run(seen.x, seen.y, seen.yaw, seen.speed)
        wall, cpu = time.perf_counter(), time.process_time()
        seen = world.step(*command)
        inside_wall_s += time.perf_counter() - wall
        inside_cpu_s += time.process_time() - cpu
    return STEPS / inside_wall_s, STEPS / inside_cpu_s


def main() -> None:
    cv2.setNumThreads(1)
    for name in TRACK_NAMES:
        wall, cpu = steps_per_second(name)
        print(f"simulator, {name}, 160x120: {wall:.0f} steps/s ({cpu:.0f} per CPU second), wanted 1000")


if __name__ == "__main__":
    main()
