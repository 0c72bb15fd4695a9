# Decodes a trace with Perfetto's own schema, and checks what its importer relies on.
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as file:
    assert trace.ParseFromString(file.read()) > 0
tracks, open_slices, slices, instants, counters, threads = {}, {}, 0, 0, [], set()


def has_unknown(message):
    from google.protobuf.unknown_fields import UnknownFieldSet

    return len(UnknownFieldSet(message)) > 0


for packet in trace.packet:
    assert packet.IsInitialized() and not has_unknown(packet)
    assert packet.trusted_packet_sequence_id != 0, "incremental state needs a sequence"
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert not has_unknown(track) and track.uuid not in tracks, "a track is told of once"
        assert not track.parent_uuid or track.parent_uuid in tracks, "a parent comes before its children"
        if track.HasField("thread"):
            threads.add(track.thread.tid)
        tracks[track.uuid] = track
    if packet.HasField("track_event"):
        event, at = packet.track_event, packet.timestamp
        assert not has_unknown(event) and event.track_uuid in tracks, "an event is on a track that was told of"
        assert packet.HasField("timestamp")
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.name or event.name_iid
            open_slices.setdefault(event.track_uuid, []).append(at)
        elif event.type == TrackEvent.TYPE_SLICE_END:
            assert open_slices[event.track_uuid].pop() <= at, "a slice ends after it began"
            slices += 1
        elif event.type == TrackEvent.TYPE_INSTANT:
            instants += 1
        elif event.type == TrackEvent.TYPE_COUNTER:
            assert tracks[event.track_uuid].HasField("counter")
            counters.append(event.counter_value)
assert not any(open_slices.values()), "every slice ends"
print("slices", slices)
print("instants", instants)
print("counters", *sorted(counters, reverse=True))
print("threads", *sorted(threads))
