"""The metric's page on the Hub."""

from pathlib import Path

if __name__ == "__main__":
    import evaluate
    from evaluate.utils import launch_gradio_widget

    launch_gradio_widget(evaluate.load(str(Path(__file__).parent)))
