"""Packaging of donkey_aicc. Ranges live here; exact pins for a repeatable set-up are in constraints.txt."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent

setup(
    name="donkey_aicc",
    version="0.1.0",
    description="Safety prediction with anomaly-informed, calibrated confidence for DonkeyCar",
    long_description=(HERE / "README.md").read_text(encoding="utf-8") if (HERE / "README.md").exists() else "",
    long_description_content_type="text/markdown",
    license="MIT",
    python_requires=">=3.11,<3.12",
    packages=find_packages(include=["donkey_aicc", "donkey_aicc.*"]),
    install_requires=[
        "donkeycar>=5.3,<5.4",
        "torch>=2.3,<3",
        "numpy>=1.26,<2",
        "scipy>=1.11",
        "opencv-python-headless>=4.8,<4.12",
        "pillow>=10",
        "scikit-learn>=1.4",
        "safetensors>=0.4",
        "matplotlib>=3.8",
        "tqdm>=4.66",
    ],
    extras_require={
        "dev": ["pytest", "pytest-xdist", "ruff", "mypy", "build", "pyarrow"],
        "cluster": ["dask", "distributed"],
    },
    entry_points={"console_scripts": ["donkey-aicc=donkey_aicc.cli:main"]},
)
