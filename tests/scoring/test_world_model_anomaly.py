import numpy as np
import torch

from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.scoring.world_model_anomaly import PerceptionScore


def test_rho_raw_is_the_mean_error_over_the_context(nets, bundle, drive):
    images = images_to_array(drive(9).images)
    with torch.no_grad():
        errors = ((nets.vae(torch.from_numpy(images)) - torch.from_numpy(images)) ** 2).mean(dim=(1, 2, 3)).double().numpy()
    score = PerceptionScore(bundle, lanes=1, context=4)
    rho = [score.update(images[t : t + 1])[0][0] for t in range(9)]
    np.testing.assert_allclose(rho, [errors[max(0, t - 3) : t + 1].mean() for t in range(9)], rtol=1e-5)
    np.testing.assert_allclose(score.last_error, errors[-1:], rtol=1e-5)


def test_a_flash_is_forgotten_after_the_context(bundle, drive):
    """No running sum: after a huge error has left the window nothing of it remains."""
    images = images_to_array(drive(1).images).repeat(4, axis=0)
    flashed, calm = (PerceptionScore(bundle, lanes=1, context=3) for _ in range(2))
    flashed.update(np.ones((1, 3, 64, 64), np.float32))
    for image in images:
        after, expected = flashed.update(image[None])[0], calm.update(image[None])[0]
    assert after == expected
