"""Settings of every stage: frozen models, TOML in, unknown keys refused with a suggestion."""

from fitpipe.config.load import (
    config_sha256,
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
    SkeletonConfig,
    SolveConfig,
    WeightsConfig,
)
from fitpipe.config.run import (
    BatchConfig,
    FileRow,
    OverrideConfig,
    ReadingConfig,
    RunConfig,
    TakesConfig,
)
from fitpipe.config.simulate import MotionConfig, NoiseConfig, SensorsConfig, SimulateConfig
from fitpipe.config.vary import Variant, check_overrides, expand_grid, override_tables, varied

__all__ = [
    "AnglesConfig",
    "BatchConfig",
    "CalibrateConfig",
    "FileRow",
    "FitConfig",
    "MotionConfig",
    "NoiseConfig",
    "OutputConfig",
    "OverrideConfig",
    "ReadingConfig",
    "ReportConfig",
    "RunConfig",
    "SensorsConfig",
    "SimulateConfig",
    "SkeletonConfig",
    "SolveConfig",
    "TakesConfig",
    "Variant",
    "WeightsConfig",
    "check_overrides",
    "config_sha256",
    "config_text",
    "expand_grid",
    "load_report_config",
    "load_run_config",
    "make_config",
    "override_tables",
    "varied",
    "with_settings",
]
