#!/bin/bash
# The oracle: the task's first reference command in this shell.
set -eu
mkdir -p /answer
cp "$(dirname "$0")/command" /answer/command
