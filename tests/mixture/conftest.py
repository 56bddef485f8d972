import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """Matrices of 3×3 gain nothing from threads, and lose half the time to them on a busy machine."""
    with threadpool_limits(1):
        yield
