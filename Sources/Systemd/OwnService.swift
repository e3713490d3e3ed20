import LinuxSystem

/// The service that this program is, as its service manager sees it.
package enum OwnService {
    /// Whether the manager keeps the descriptors in its store when this program ends now: it starts it again, or is
    /// told to keep them at a stop (`FileDescriptorStorePreserve=yes`; Systemd.md, fact 52). Waits for the answers, at
    /// most a second; `nil`: there are none.
    package static func keepsDescriptors(_ scope: Bus.Scope) -> Bool? {
        guard let bus = try? Bus(scope) else { return nil }
        let client = UnitClient(bus) { _ in }
        var answer: ServiceEnd??
        client.end(of: Linux.processID) { answer = .some($0) }
        bus.process(atMost: 1_000_000) { answer == nil }
        return answer??.keepsDescriptors
    }
}

/// The rules of a service, and the job that ends it.
struct ServiceEnd {
    /// `JobType`: `stop`, `restart`; `nil`: it ends by itself.
    var job: String?
    /// `Restart=`.
    var restart = ""
    /// `FileDescriptorStorePreserve=`; empty: the manager has no such key.
    var preserve = ""

    /// After an end without a fault.
    var keepsDescriptors: Bool {
        let startsAgain = job.map { $0 == "restart" } ?? ["always", "on-success"].contains(restart)
        return preserve != "no" && (startsAgain || preserve == "yes")
    }
}

extension UnitClient {
    /// `nil`: the manager does not say it.
    func end(of process: Int32, _ done: @escaping (ServiceEnd?) -> Void) {
        call("GetUnitByPID", [.uint32(UInt32(process))]) { [self] reply in
            guard case .message(let message) = reply, let path = try? message.objectPath() else { return done(nil) }
            var end = ServiceEnd()
            text("Restart", "Service", path) { end.restart = $0 ?? "" }
            text("FileDescriptorStorePreserve", "Service", path) { end.preserve = $0 ?? "" }
            property("Job", "Unit", path) { [self] reply in
                guard let job = Self.job(reply) else { return done(nil) }
                // It has none.
                if job == "/" { return done(end) }
                text("JobType", "Job", job) {
                    end.job = $0
                    done($0 == nil ? nil : end)
                }
            }
        }
    }

    private func text(_ name: String, _ interface: String, _ path: String, _ done: @escaping (String?) -> Void) {
        property(name, interface, path) { reply in
            guard case .message(let message) = reply else { return done(nil) }
            done(try? message.inside(BusType.variant, "s") { () throws(BusMessage.Unexpected) in try message.string() })
        }
    }
}
