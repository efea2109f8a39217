"""The analysis: the cells table and the design in, numbers out. Nothing here reads a file or a clock."""

from fluency.analysis.headline import headline
from fluency.analysis.model_analysis import ModelAnalysis
from fluency.analysis.study_analysis import Analysis, analyse

__all__ = ["Analysis", "ModelAnalysis", "analyse", "headline"]
