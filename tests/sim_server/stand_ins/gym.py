"""Stands for gym of 2022, which donkeycar 5.3 uses: reset gives the picture alone, step four things."""

import gymnasium


class _Old(gymnasium.Wrapper):
    def reset(self):
        return self.env.reset()[0]

    def step(self, action):
        image, reward, over, _, info = self.env.step(action)
        return image, reward, over, info


def make(name, conf):
    return _Old(gymnasium.make(name, conf=conf, disable_env_checker=True).unwrapped)
