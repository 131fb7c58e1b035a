"""From items to numbers and files: answers, recipe, estimation, results."""
