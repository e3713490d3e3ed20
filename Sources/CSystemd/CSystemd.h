// The parts of libsystemd (252 or newer) that watchd uses: notification, socket activation, the journal, the bus.
#pragma once
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
