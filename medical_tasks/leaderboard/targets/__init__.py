"""What `medical-tasks submit --to TARGET` writes, a module a target: `add_arguments(parser)` and `run(arguments)`."""
