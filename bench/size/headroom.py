GPUS = (2, 4)
def run(a,p): raise SystemExit
