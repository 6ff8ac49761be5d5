"""The embedded simulator behind the Unity simulator's TCP/JSON protocol: gym-donkeycar and donkeycar's DONKEY_GYM drive it."""
