"""Going through the steps: look, act where needed, look no further after a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from onboarding.checklist import Status, StepEvent
from onboarding.run import Run
from onboarding.steps import Step, StepFailed, StepId

Report = Callable[[StepEvent], None]


async def run_steps(run: Run, steps: Sequence[Step], report: Report) -> StepFailed | None:
    """Carry the steps out in their order and report each; returns the failure that ended it, if one did."""
    for step in steps:
        if step.id is StepId.PROOF and not run.options.with_proof:
            report(StepEvent(step.id, Status.SKIPPED, "left out with --no-proof"))
            continue
        report(StepEvent(step.id, Status.STARTED))
        run.on_waiting = lambda text, step=step: report(StepEvent(step.id, Status.WAITING, text))
        started = trio.current_time()
        try:
            proof = await step.is_done(run)
            is_new = proof is None
            if proof is None:
                proof = await step.act(run)
        except StepFailed as failure:
            ms = (trio.current_time() - started) * 1000
            report(StepEvent(step.id, Status.FAILED, str(failure), failure.code, failure.fix, ms=ms))
            return failure
        ms = (trio.current_time() - started) * 1000
        report(StepEvent(step.id, Status.DONE, proof, is_new=is_new, ms=ms))
    return None
