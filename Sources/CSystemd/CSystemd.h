// What watchd uses of libsystemd (252 or newer): notification, socket activation, the journal, the bus.
#pragma once
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
