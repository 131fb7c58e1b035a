"""The leaderboard: submissions in a store, their tables and rankings, and the pages."""

from __future__ import annotations

from medical_tasks.plugins import Verb

VERBS = (
    Verb(
        name="submit",
        group="Share",
        summary="write a finished run's submission to a leaderboard, the Hub or a shared task; nothing is sent",
        options="medical_tasks.leaderboard.commands.submit:choice",
        run="medical_tasks.leaderboard.commands.submit:run",
    ),
    Verb(
        name="export",
        group="Share",
        summary="write a finished run in the form of another tool: Every Eval Ever, CHAI, TRIPOD-LLM, inspect, lm-eval, CSV",
        options="medical_tasks.leaderboard.options:Export",
        run="medical_tasks.leaderboard.commands.export:run",
    ),
    Verb(
        name="verify",
        group="Share",
        summary="check a submission package: score its answers again and say what matches",
        options="medical_tasks.leaderboard.options:Verify",
        run="medical_tasks.leaderboard.commands.verify:run",
    ),
    Verb(
        name="leaderboard",
        group="Share",
        summary="keep a leaderboard: list, accept or reject submissions, show what happened, serve the Space",
        options="medical_tasks.leaderboard.options:Leaderboard",
        run="medical_tasks.leaderboard.commands.leaderboard:run",
    ),
)
