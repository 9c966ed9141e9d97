#!/usr/bin/python3
"""slow_switch.py DELAY_MS LOSS_PERCENT DEVICE...: makes TAP devices and joins them as an Ethernet hub does, but each frame
arrives DELAY_MS later, or not at all. For kernels without netem. Runs until SIGTERM, then says what was lost; the devices
end with it."""
import collections
import fcntl
import os
import random
import select
import signal
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x2, 0x1000


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def frames_of(tap):
    try:
        while True:
            yield os.read(tap, 65536)
    except (BlockingIOError, OSError):  # no more, or the device is down
        return


def write(tap, frame):
    try:
        os.write(tap, frame)
    except OSError:  # the device is down
        pass


delay, loss = float(sys.argv[1]) / 1000, float(sys.argv[2]) / 100
taps = [open_tap(name) for name in sys.argv[3:]]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
random.seed(1)
frames = lost = 0
on_the_way = collections.deque()  # (time of arrival, source, frame)
try:
    while True:
        wait = max(0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        ready = select.select(taps, [], [], wait)[0]
        now = time.monotonic()
        for source in ready:
            for frame in frames_of(source):
                frames += 1
                if random.random() < loss:
                    lost += 1
                else:
                    on_the_way.append((now + delay, source, frame))
        while on_the_way and on_the_way[0][0] <= now:
            _, source, frame = on_the_way.popleft()
            for tap in taps:
                if tap != source:
                    write(tap, frame)
finally:
    print(f"{lost} of {frames} frames lost", flush=True)
