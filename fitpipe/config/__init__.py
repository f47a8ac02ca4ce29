"""Settings of every stage: frozen models, TOML in, unknown keys refused with a suggestion."""

from fitpipe.config.load import (
    config_text,
    load_report_config,
    load_run_config,
    make_config,
    with_settings,
)
from fitpipe.config.models import (
    AnglesConfig,
    CalibrateConfig,
    FitConfig,
    OutputConfig,
    ReportConfig,
    RunConfig,
    SkeletonConfig,
    SolveConfig,
    TakesConfig,
    WeightsConfig,
)
from fitpipe.config.simulate import MotionConfig, NoiseConfig, SensorsConfig, SimulateConfig

__all__ = [
    "AnglesConfig",
    "CalibrateConfig",
    "FitConfig",
    "MotionConfig",
    "NoiseConfig",
    "OutputConfig",
    "ReportConfig",
    "RunConfig",
    "SensorsConfig",
    "SimulateConfig",
    "SkeletonConfig",
    "SolveConfig",
    "TakesConfig",
    "WeightsConfig",
    "config_text",
    "load_report_config",
    "load_run_config",
    "make_config",
    "with_settings",
]
