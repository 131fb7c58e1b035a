import subprocess
import sys

from medical_tasks.scoring import statistics


def test_front_has_what_it_names() -> None:
    assert len(statistics.__all__) == 17
    for name in statistics.__all__:
        public = getattr(statistics, name)
        assert public.__doc__
        assert public.__module__.startswith("medical_tasks.scoring.")


def test_needs_nothing_but_numpy() -> None:
    # Outside libraries that happen to be installed serve the tests only.
    program = (
        "import sys; import medical_tasks.scoring.statistics; "
        "print([name for name in ('scipy', 'pandas', 'sklearn', 'torch', 'datasets') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
