"""A plain Python parent process: starts `hob mcp` with pipes.

usage: parent.py HOB DIR REQUESTS     writes the file's lines, closes the input, prints the answers
"""

import subprocess
import sys

hob, directory, requests = sys.argv[1:4]
with open(requests, "rb") as file:
    child = subprocess.run([hob, "mcp"], cwd=directory, input=file.read(), stdout=subprocess.PIPE)
sys.stdout.buffer.write(child.stdout)
sys.exit(child.returncode)
