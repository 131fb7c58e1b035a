"""What a report of finished runs shows, read from their folders: tasks, items with their texts where those may be shown, plots."""
