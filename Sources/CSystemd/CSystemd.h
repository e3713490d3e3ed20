// What watchd uses of libsystemd (252 or newer): notification, socket activation, the journal.
#pragma once
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
