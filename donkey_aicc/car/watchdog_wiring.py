"""The watchdog beside a real car's drive loop, where its motors can be reached by a second process."""

from donkey_aicc.car.assembly import Assembly


def add_watchdog(car: Assembly) -> None:
    """At the end of the loop. What is not watched is said, in the line at the start."""
    if car.simulated:
        return
    from donkey_aicc.watchdog.heartbeat import Heartbeat, NoWatchdog, limit_s
    from donkey_aicc.watchdog.orders import orders_of

    found = orders_of(car.V.parts)
    if not found.motors:
        car.said.append("no watchdog: no motor of donkeycar's that it knows")
        return
    if not car.config.watchdog:
        car.said.append("no watchdog: AICC_WATCHDOG is False")
        return
    lacks = found.cannot
    if found.orders:
        try:
            car.V.add(Heartbeat(car.V, found, car.cfg.DRIVE_LOOP_HZ))
            silence = limit_s(car.cfg.DRIVE_LOOP_HZ)
            car.said.append(f"watchdog: the motor goes to neutral {silence:.2g} s after this loop falls silent")
        except NoWatchdog as error:
            lacks = [*lacks, str(error)]
    car.said += [f"NO WATCHDOG, the motor keeps its last throttle if this program dies: {why}" for why in lacks]
