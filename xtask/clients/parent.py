"""A plain Python parent: pipes both ways.

usage: parent.py HOB DIR REQUESTS     writes the file's lines, ends the input, prints what came back
"""

import subprocess
import sys

hob, directory, requests = sys.argv[1:4]
with open(requests, "rb") as file:
    child = subprocess.run([hob, "mcp"], cwd=directory, input=file.read(), stdout=subprocess.PIPE)
sys.stdout.buffer.write(child.stdout)
sys.exit(child.returncode)
