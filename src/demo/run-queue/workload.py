# An interactive program, and batch jobs that compute for three of every six seconds; runs until it is killed.
import ctypes, multiprocessing, time
libc = ctypes.CDLL(None)
def name(n): libc.prctl(15, n.encode(), 0, 0, 0)
def batch():
    name("batch")
    while True:
        t = time.monotonic()
        if t % 6 < 3:
            while time.monotonic() - t < 0.05: pass
        else:
            time.sleep(0.05)
def editor():
    name("editor")
    while True:
        time.sleep(0.01)
        sum(range(2000))
for f in [batch] * 6 + [editor]:
    multiprocessing.Process(target=f, daemon=True).start()
while True: time.sleep(60)
