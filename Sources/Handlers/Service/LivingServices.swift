import Engine
package import EventSources
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// The transient services of runs that there are, of this watchd and of earlier ones with its folder of state: the
/// manager has a file of each, in memory, which nobody else may write. They are there until their end was seen.
package struct LivingServices: Sendable {
    private let folder: [UInt8]?
    private let tag: String

    package init(_ instance: InstanceName) { self.init(instance, folder: Self.folder(UnitHub.ownScope)) }

    /// - Parameter folder: of the manager; `nil`: there is none.
    init(_ instance: InstanceName, folder: [UInt8]?) { (self.folder, tag) = (folder, instance.tag) }

    private static func folder(_ scope: Bus.Scope) -> [UInt8]? {
        switch scope {
        case .system: Array("/run/systemd/transient".utf8)
        case .user: Linux.environment("XDG_RUNTIME_DIR").map { $0 + "/systemd/transient".utf8 }
        }
    }

    var names: [ServiceName] {
        guard let folder, let entries = try? Linux.readFolder(folder) else { return [] }
        return entries.compactMap { ServiceName(String(decoding: $0.name, as: UTF8.self)) }.filter { $0.tag == tag }
    }

    func name(of run: RunID) -> ServiceName? { names.first { $0.run == run } }

    /// As processes to be adopted, with what the manager's file says of them. Reads files: not for `watchd.core`.
    package var processes: [AdoptableProcess] {
        names.compactMap { name in
            guard let folder else { return nil }
            let path = folder + "/\(name.text)".utf8
            guard let text = try? Linux.readFile(path), let status = try? Linux.stat(path) else { return nil }
            return AdoptableProcess(name, Self.fields(text), started: status.modified / 1000)
        }
    }

    /// `LogExtraFields=NAME=VALUE`, as the manager writes them.
    static func fields(_ text: [UInt8]) -> [String: String] {
        let key = "LogExtraFields="
        var fields: [String: String] = [:]
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") where line.hasPrefix(key) {
            let parts = line.dropFirst(key.count).split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { fields[parts[0]] = parts[1].replacing("%%", with: "%") }
        }
        return fields
    }
}

extension AdoptableProcess {
    /// What stands in a service's file is the manager's word.
    init?(_ name: ServiceName, _ fields: [String: String], started: Int64) {
        guard let handler = fields["WATCHD_HANDLER"], let queue = fields["WATCHD_QUEUE"] else { return nil }
        let source = (fields["WATCHD_SOURCE"] ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        self.init(service: name.run, handler: handler, queue: queue, started: started)
        if source.count == 2 { (kind, self.source) = (source[0], source[1]) }
        acquired = fields.filter { $0.key.hasPrefix(SemaphoreDefinition.variablePrefix) }
    }
}
