# A file server with a thread a client, and four clients; runs until it is killed.
import os, random, socket, tempfile, threading, ctypes, multiprocessing
libc = ctypes.CDLL(None)
def name(n): libc.prctl(15, n.encode(), 0, 0, 0)
root = tempfile.mkdtemp(prefix="files-")
SIZES = {"index.html": 4 << 10, "style.css": 9 << 10, "logo.png": 60 << 10, "report.pdf": 900 << 10, "backup.tar": 12 << 20}
for f, size in SIZES.items():
    open(os.path.join(root, f), "wb").write(os.urandom(size))
def serve(conn, log, counter):
    name("fileserver")
    while True:
        want = conn.recv(64)
        if not want: return
        path = os.path.join(root, want.decode().strip())
        size = os.stat(path).st_size
        fd = os.open(path, os.O_RDONLY)
        at = 0
        while at < size:
            data = os.pread(fd, 256 << 10, at)
            at += len(data)
            conn.sendall(data)
        os.close(fd)
        counter[0] += 1
        if counter[0] % 10 == 0:
            fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(fd, b"served " + want + b"\n" * 40)
            os.fsync(fd)
            os.close(fd)
def server(listener):
    name("fileserver")
    counter = [0]
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=serve, args=(conn, os.path.join(root, "access.log"), counter), daemon=True).start()
def client(port, seed):
    name("client")
    rnd = random.Random(seed)
    sock = socket.create_connection(("127.0.0.1", port))
    while True:
        want = rnd.choices(list(SIZES), [60, 30, 20, 4, 1])[0]
        sock.sendall(want.encode() + b"\n")
        left = SIZES[want]
        while left > 0:
            left -= len(sock.recv(1 << 20))
        import time; time.sleep(rnd.random() * 0.02)
listener = socket.create_server(("127.0.0.1", 0), backlog=16)
port = listener.getsockname()[1]
procs = [multiprocessing.Process(target=client, args=(port, n), daemon=True) for n in range(4)]
for p in procs: p.start()
server(listener)
