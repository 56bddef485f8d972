"""The scikit-learn faces: validate → problem → run → attributes."""
