# The offline engine: llama.cpp's own HTTP server, with a model file at a port (0 for a free one) of this machine.
# Ends with its standard input, so it never outlives whoever started it.
import os
import sys
import xllamacpp as x

p = x.CommonParams()
p.model.path = sys.argv[1]
p.hostnames = ["127.0.0.1"]
p.port = int(sys.argv[2])
p.n_ctx = 4096
p.n_parallel = 1
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 2
p.use_jinja = True
p.sampling.seed = 42
p.sampling.temp = 0.0
p.offline = True
p.ui = False
p.endpoint_metrics = True
s = x.Server(p)
print("LISTENING", s.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
