// The device in use, for hello and evidence.
#include "peer_device.cuh"

extern "C" int peer_describe(peer_device* device, char* why) { return peer_describe_device(device, why); }
