"""Packaging of donkey_aicc. Ranges live here; exact pins for a repeatable set-up are in constraints.txt."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
# Folders beside the package that ship inside it, so that an installed wheel finds them too (see donkey_aicc/resources.py).
SHIPPED = {"donkey_aicc.mycar_template": "mycar_template", "donkey_aicc.models": "models"}
present = {package: folder for package, folder in SHIPPED.items() if (HERE / folder).is_dir()}
version = re.search(r'^__version__ = "(.+)"$', (HERE / "donkey_aicc/__init__.py").read_text(encoding="utf-8"), re.MULTILINE)[1]

# A car needs none of these: what it drives with runs on ONNX Runtime.
TRAIN = [
    "torch>=2.3,<3",
    "scipy>=1.11",
    "scikit-learn>=1.4",
    "matplotlib>=3.8",
    "joblib>=1.3",
    "jinja2>=3.1",
    "imageio-ffmpeg>=0.5",
]
# Parquet and video. pyarrow from 21 on needs numpy 2.
LEROBOT = ["pyarrow>=14,<21; python_version < '3.12'", "pyarrow>=21; python_version >= '3.12'", "imageio-ffmpeg>=0.5"]
SIGN = ["pynacl>=1.5,<2"]
GYM = ["gymnasium>=1.0,<2"]

setup(
    name="donkey_aicc",
    version=version,
    description="Safety prediction with anomaly-informed, calibrated confidence for DonkeyCar",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    author="donkey_aicc contributors",
    project_urls={"DonkeyCar": "https://www.donkeycar.com"},
    keywords=["donkeycar", "safety", "calibration", "anomaly detection", "runtime monitoring"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    python_requires=">=3.11,<3.14",
    packages=[*find_packages(include=["donkey_aicc", "donkey_aicc.*"]), *present],
    package_dir=present,
    package_data={"donkey_aicc": ["**/*"], **{package: ["**/*"] for package in present}},
    exclude_package_data={"": ["*.pyc"]},
    install_requires=[
        "donkeycar>=5.3",
        "numpy>=1.26",
        "opencv-python-headless>=4.8",
        "pillow>=10",
        "safetensors>=0.4",
        "onnxruntime>=1.17",
        "tqdm>=4.66",
        "segno>=1.6,<2",
        "threadpoolctl>=3.1",
    ],
    extras_require={
        "train": TRAIN,
        "dev": [
            *TRAIN,
            "pytest",
            "pytest-xdist",
            "hypothesis",
            "onnx>=1.16",
            "ruff",
            "mypy",
            "pdoc>=15",
            "build",
            "setuptools>=68",
            "playwright>=1.40",
            "axe-playwright-python>=0.1.4",
            *GYM,
            *SIGN,
            *LEROBOT,
            "stable-baselines3>=2.4,<3",
        ],
        "sign": SIGN,
        "gym": GYM,
        "cluster": ["dask", "distributed"],
        "lerobot": LEROBOT,
    },
    entry_points={"console_scripts": ["donkey-aicc=donkey_aicc.cli:main"]},
)
