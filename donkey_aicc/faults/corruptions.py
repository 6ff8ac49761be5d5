"""The eight visual families that train the calibrator, each (image, strength, rng) -> image.

strength is continuous: 0 changes nothing, 1 leaves little of the picture. None of them is a change of brightness, contrast or
sharpness, because the test protocols Dark and Blur must stay unseen: veils keep the mean luminance of the picture.
Images are (H, W, 3) RGB uint8 of any size.
"""

from collections.abc import Callable

import cv2
import numpy as np

from donkey_aicc.errors import AiccError, one_of

Corruption = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]

_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_JPEG_BEST = 60  # quality just above strength 0
_FROST_TINT = np.array([-12.0, 0.0, 18.0], dtype=np.float32)  # ice is bluish; luminance is restored afterwards


def jpeg(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """JPEG blocks and ringing; quality falls from 60 to 1."""
    quality = max(1, round(_JPEG_BEST * (1.0 - strength) ** 2))
    _, packed = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(cv2.imdecode(packed, cv2.IMREAD_COLOR)[..., ::-1])


def desaturation(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Colour fades to grey of the same luminance."""
    pixels = image.astype(np.float32)
    grey = (pixels @ _LUMA)[..., None]
    return _to_uint8(grey + (1.0 - strength) * (pixels - grey))


def colour_jitter(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Hues turn by up to half a circle, either way, at the same luminance."""
    angle = strength * np.pi * (1.0 if rng.random() < 0.5 else -1.0)
    pixels = image.astype(np.float32)
    luma = pixels @ _LUMA
    blue, red = (pixels[..., 2] - luma) / 1.772, (pixels[..., 0] - luma) / 1.402
    turned_blue = np.cos(angle) * blue - np.sin(angle) * red
    turned_red = np.sin(angle) * blue + np.cos(angle) * red
    out_red, out_blue = luma + 1.402 * turned_red, luma + 1.772 * turned_blue
    green = (luma - _LUMA[0] * out_red - _LUMA[2] * out_blue) / _LUMA[1]
    return _to_uint8(np.stack([out_red, green, out_blue], axis=-1))


def speckle(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Noise in proportion to the brightness of each pixel, standard deviation up to 150 % of it."""
    pixels = image.astype(np.float32)
    return _to_uint8(pixels * (1.0 + 1.5 * strength * rng.standard_normal(image.shape, dtype=np.float32)))


def salt_and_pepper(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Up to 80 % of the pixels become black or white."""
    draw = rng.random(image.shape[:2], dtype=np.float32)
    share = 0.8 * strength
    out = image.copy()
    out[draw < share / 2.0] = 0
    out[draw > 1.0 - share / 2.0] = 255
    return out


def pixelation(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Square blocks of one colour, from single pixels to a third of the picture."""
    height, width = image.shape[:2]
    block = 1.0 + strength**1.5 * (min(height, width) / 3.0 - 1.0)
    size = (max(2, round(width / block)), max(2, round(height / block)))
    return cv2.resize(cv2.resize(image, size, interpolation=cv2.INTER_AREA), (width, height), interpolation=cv2.INTER_NEAREST)


def fog(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Drifting swathes of uneven density; the swathes' own structure takes the place of the picture's."""
    density = clouds(image.shape[:2], rng, roughness=0.62)
    swathe = clouds(image.shape[:2], rng, roughness=0.72)
    cover = np.minimum(strength * (0.6 + 0.8 * density), 0.97)
    return _veil(image, cover, 110.0 * (swathe - 0.5)[..., None] * 2.0)


def frost(image: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Ice crystals grow over the lens: sharp bright ridges with dark gaps, thin at first, then everywhere."""
    ice = clouds(image.shape[:2], rng, roughness=0.8)
    ridges = 1.0 - np.abs(2.0 * clouds(image.shape[:2], rng, roughness=0.75) - 1.0)
    grown = np.clip((ice + 1.6 * strength - 1.0) * 2.5, 0.0, 1.0)
    cover = (0.35 + 0.6 * strength) * grown
    return _veil(image, cover, (240.0 * (ridges**3 - 0.35))[..., None] + _FROST_TINT)


FAMILIES: dict[str, Corruption] = {
    "jpeg": jpeg,
    "desaturation": desaturation,
    "fog": fog,
    "speckle": speckle,
    "salt_and_pepper": salt_and_pepper,
    "pixelation": pixelation,
    "colour_jitter": colour_jitter,
    "frost": frost,
}

# Strength of severities 1-5 when no ladder was fitted to the predictor (see d_aug.severity_for_accuracy_drop).
DEFAULT_STRENGTHS: dict[str, tuple[float, ...]] = {
    "jpeg": (0.35, 0.5, 0.62, 0.74, 0.86),
    "desaturation": (0.3, 0.5, 0.7, 0.85, 1.0),
    "fog": (0.2, 0.35, 0.5, 0.65, 0.8),
    "speckle": (0.1, 0.2, 0.3, 0.45, 0.65),
    "salt_and_pepper": (0.04, 0.1, 0.2, 0.35, 0.55),
    "pixelation": (0.15, 0.25, 0.4, 0.55, 0.75),
    "colour_jitter": (0.1, 0.25, 0.45, 0.7, 1.0),
    "frost": (0.25, 0.4, 0.55, 0.7, 0.85),
}


def corrupt(image: np.ndarray, family: str, strength: float, rng: np.random.Generator) -> np.ndarray:
    """A corrupted copy of one (H, W, 3) uint8 image; strength in [0, 1]."""
    one_of("corruption family", family, list(FAMILIES))
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise AiccError(f"image must be (height, width, 3) uint8, got {image.shape} {image.dtype}")
    if not 0.0 <= strength <= 1.0:
        raise AiccError(f"strength of {family} must lie in [0, 1], got {strength}")
    return image.copy() if strength == 0.0 else FAMILIES[family](image, float(strength), rng)


def _veil(image: np.ndarray, cover: np.ndarray, structure: np.ndarray) -> np.ndarray:
    """Blend the picture with mean grey + structure by cover (H, W), then put its mean luminance back."""
    pixels = image.astype(np.float32)
    mean = float((pixels @ _LUMA).mean())
    cover = cover[..., None]
    veiled = (1.0 - cover) * pixels + cover * (mean + structure - (structure * cover).mean() / max(float(cover.mean()), 1e-6))
    for _ in range(3):  # clipping moves the mean a little, so look again
        veiled = np.clip(veiled + (mean - float((np.clip(veiled, 0, 255) @ _LUMA).mean())), 0.0, 255.0)
    return _to_uint8(veiled)


def clouds(shape: tuple[int, ...], rng: np.random.Generator, roughness: float) -> np.ndarray:
    """(H, W) float32 in [0, 1]: random fields of doubling resolution, each `roughness` as strong as the one before."""
    height, width = shape
    total = np.zeros(shape, dtype=np.float32)
    cells, amplitude = 2, 1.0
    while cells <= max(height, width):
        field = rng.random((min(cells, height), min(cells, width)), dtype=np.float32)
        total += np.float32(amplitude) * cv2.resize(field, (width, height), interpolation=cv2.INTER_LINEAR)
        cells, amplitude = cells * 2, amplitude * roughness
    low, high = float(total.min()), float(total.max())
    return (total - low) / max(high - low, 1e-6)


def _to_uint8(pixels: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
