# A server with a short queue that accepts in bursts, and clients that connect; runs until it is killed.
import socket, threading, time, random
listener = socket.create_server(("127.0.0.1", 8080), backlog=1)
def client(seed):
    rnd = random.Random(seed)
    while True:
        try:
            with socket.create_connection(("127.0.0.1", 8080), timeout=20) as s:
                s.sendall(b"x" * 100)
        except OSError:
            pass
        time.sleep(0.1 + rnd.random() * 0.4)
for n in range(8):
    threading.Thread(target=client, args=(n,), daemon=True).start()
while True:
    time.sleep(0.4)
    listener.settimeout(0.001)
    try:
        while True:
            listener.accept()[0].close()
    except OSError:
        pass
