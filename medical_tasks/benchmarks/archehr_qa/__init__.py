"""ArchEHR-QA: grounded answers to patients' questions about their hospital stay."""
