// The time-zone database of the system, and which of its zones is the local one: as glibc finds them (tzset(3)).
//
//   - Without `TZ` it is `/etc/localtime`; an empty `TZ` is UTC.
//   - `TZ` is a file below `TZDIR` (`/usr/share/zoneinfo`), or with a slash in front anywhere, with or without a colon
//     before it; else a POSIX rule; else UTC.
//
// A name that comes from elsewhere, such as a calendar expression, reaches files below that folder only.

import LinuxSystem
package import Schedule

/// Reads the rules of time zones. Nothing is kept: each call reads its file, and a change is seen at once.
package struct TimeZoneDatabase: Sendable {
    private static let usualFolder = Array("/usr/share/zoneinfo".utf8)
    private static let localFile = Array("/etc/localtime".utf8)
    /// Links that are followed, as by the kernel (`path_resolution(7)`).
    private static let linkLimit = 40
    /// Bytes of a name.
    private static let longestName = 255

    private let folder: [UInt8]
    /// `TZ`.
    private let variable: [UInt8]?
    /// The file of the local zone without `TZ`.
    private let localFile: [UInt8]

    /// - Parameter localFile: `/etc/localtime` in all but tests.
    package init(
        environment: (String) -> [UInt8]? = { Linux.environment($0) }, localFile: [UInt8] = Self.localFile
    ) {
        folder = environment("TZDIR").flatMap { $0.isEmpty ? nil : $0 } ?? Self.usualFolder
        variable = environment("TZ")
        self.localFile = localFile
    }

    /// The rules of a zone of the database, such as `Europe/Berlin`; blocks as the file system does.
    package func rules(named name: String) throws(TimeZoneFileError) -> TimeZoneRules {
        guard Self.isName(name) else { throw .notAName }
        if name == "UTC" { return .utc }
        return try Self.read(folder + [UInt8(ascii: "/")] + Array(name.utf8))
    }

    /// The names that a calendar expression needs to be read, with these rules as the local ones.
    package func names(local: TimeZoneRules) -> CalendarExpression.ZoneNames {
        CalendarExpression.ZoneNames(local: local) { (try? rules(named: $0)) != nil }
    }

    /// The rules of the local zone; UTC where there are none, as for the library.
    ///
    /// - Parameter old: what they are taken to be where there is something that cannot be read, or not yet: a file that
    ///   is just being written.
    package func local(else old: TimeZoneRules = .utc) -> TimeZoneRules {
        do throws(TimeZoneFileError) {
            return try localRules()
        } catch {
            return error.isAbsence ? .utc : old
        }
    }

    /// Why `local()` is UTC where something else is meant: a sentence that names `TZ`, or the file. `nil`: it is as
    /// meant; without `TZ` and `/etc/localtime` UTC is.
    package var localProblem: String? {
        do throws(TimeZoneFileError) {
            _ = try localRules()
            return nil
        } catch {
            if let variable { return "TZ=\(String(decoding: variable, as: UTF8.self)): \(error)" }
            // A link to nothing is no absence.
            if error.isAbsence, localName == nil { return nil }
            return "\(String(decoding: localFile, as: UTF8.self)): \(error)"
        }
    }

    private func localRules() throws(TimeZoneFileError) -> TimeZoneRules {
        guard let variable else { return try Self.read(localFile) }
        let path = variable.first == UInt8(ascii: ":") ? Array(variable.dropFirst()) : variable
        if path.isEmpty { return .utc }
        if path.first == UInt8(ascii: "/") { return try Self.read(path) }
        guard let text = String(validating: path, as: UTF8.self) else { throw .notAName }
        do throws(TimeZoneFileError) {
            return try rules(named: text)
        } catch {
            guard let rules = try? TimeZoneRules(posix: text) else { throw error }
            return rules
        }
    }

    /// The name of the local zone, as far as that can be told: `TZ`, or what the link is to, perhaps through others.
    package var localName: String? {
        if let variable { return String(validating: variable, as: UTF8.self) }
        var (path, name): ([UInt8], String?) = (localFile, nil)
        for _ in 0..<Self.linkLimit {
            guard let target = try? Linux.readlink(path), let text = String(validating: target, as: UTF8.self) else {
                break
            }
            let parts = text.pieces(between: "/zoneinfo/")
            if parts.count > 1 { return parts.last }
            name = text
            let slash = UInt8(ascii: "/")
            path = target.first == slash ? target : path.prefix(through: path.lastIndex(of: slash) ?? 0) + target
        }
        return name
    }

    /// As systemd's `timezone_is_valid()`: nothing that leaves the folder.
    private static func isName(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return name.utf8.count <= longestName && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(isOfName) }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"):
            true
        default: false
        }
    }

    private static func read(_ path: [UInt8]) throws(TimeZoneFileError) -> TimeZoneRules {
        let bytes: [UInt8]
        do throws(SystemError) {
            // It could be a FIFO: nothing here waits.
            let file = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
            bytes = try file.use { descriptor throws(SystemError) in
                let isFile = try Linux.fstat(descriptor).kind == .regular
                return isFile ? try Linux.readToEnd(descriptor, limit: TimeZoneRules.largestFile, name: path) : []
            }
        } catch {
            throw .unreadable(error)
        }
        do throws(TimeZoneError) {
            return try TimeZoneRules(tzif: bytes)
        } catch {
            throw .damaged(error)
        }
    }
}
