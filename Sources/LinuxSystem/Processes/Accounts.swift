import Glibc

/// A user as `passwd(5)` and the name service know one.
package struct Account: Equatable, Sendable {
    package var name: String
    package var userID: UInt32
    /// The user's own group.
    package var groupID: UInt32
    package var home: [UInt8]
    package var shell: [UInt8]

    package init(name: String, userID: UInt32, groupID: UInt32, home: [UInt8], shell: [UInt8]) {
        self.name = name
        self.userID = userID
        self.groupID = groupID
        self.home = home
        self.shell = shell
    }

    fileprivate init(_ entry: passwd) {
        func bytes(_ text: UnsafeMutablePointer<CChar>?) -> [UInt8] {
            text.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
        }
        name = String(decoding: bytes(entry.pw_name), as: UTF8.self)
        (userID, groupID) = (entry.pw_uid, entry.pw_gid)
        (home, shell) = (bytes(entry.pw_dir), bytes(entry.pw_shell))
    }
}

/// The name service may block, as over a network: none of this is for `watchd.core`.
extension Linux {
    /// `getpwnam_r(3)`: a user; `nil` when there is none.
    package static func account(named name: String) throws(SystemError) -> Account? {
        try account("getpwnam_r", name) { getpwnam_r(name, $0, $1, $2, $3) }
    }

    /// `getpwuid_r(3)`: a user; `nil` when there is none.
    package static func account(of id: UInt32) throws(SystemError) -> Account? {
        try account("getpwuid_r", "\(id)") { getpwuid_r(id, $0, $1, $2, $3) }
    }

    /// `getpwnam_r(3)`: the id of a user; `nil` when there is none.
    package static func userID(named name: String) throws(SystemError) -> UInt32? { try account(named: name)?.userID }

    private typealias LookUp = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32

    private static func account(
        _ call: String, _ detail: String, _ lookUp: LookUp
    ) throws(SystemError) -> Account? {
        var size = 1024
        while true {
            var found: Account?
            let code = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
                var entry = passwd()
                var result: UnsafeMutablePointer<passwd>?
                // It has bytes, so it has an address.
                guard let base = buffer.baseAddress else { return ERANGE }
                let code = lookUp(&entry, base, buffer.count, &result)
                found = result == nil ? nil : Account(entry)
                return code
            }
            switch code {
            case 0: return found
            case EINTR: continue
            case ERANGE where size < 1 << 20: size *= 4
            // Other name services answer so for "none".
            case ENOENT, ESRCH, EBADF, EPERM: return nil
            default: throw SystemError(call: call, detail: detail, errno: Errno(code))
            }
        }
    }

    /// `getgrnam_r(3)`: the id of a group; `nil` when there is none.
    package static func groupID(named name: String) throws(SystemError) -> UInt32? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var size = 1024
        while true {
            let code = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) {
                getgrnam_r(name, &entry, $0.baseAddress, $0.count, &found)
            }
            switch code {
            case 0: return found == nil ? nil : entry.gr_gid
            case EINTR: continue
            case ERANGE where size < 1 << 20: size *= 4
            // Other name services answer so for "none".
            case ENOENT, ESRCH, EBADF, EPERM: return nil
            default: throw SystemError(call: "getgrnam_r", detail: name, errno: Errno(code))
            }
        }
    }

    /// `getgrouplist(3)`: the groups that the group database has a user in, and the given one.
    package static func groups(of user: String, with group: UInt32) -> [UInt32] {
        var count: Int32 = 64
        while true {
            var groups = [gid_t](repeating: 0, count: Int(count))
            let capacity = count
            if getgrouplist(user, group, &groups, &count) >= 0 { return Array(groups.prefix(Int(count))) }
            count = max(count, 2 * capacity)
            // NGROUPS_MAX: the kernel takes no more.
            if capacity >= 65_536 { return Array(groups.prefix(65_536)) }
        }
    }

    /// `getgroups(2)`: the supplementary groups of this process.
    package static var groups: [UInt32] {
        let count = getgroups(0, nil)
        guard count > 0 else { return [] }
        var groups = [gid_t](repeating: 0, count: Int(count))
        return Array(groups.prefix(max(0, Int(getgroups(count, &groups)))))
    }

    /// The names in a file such as `/etc/passwd`, for suggestions; those of other name services are not among them.
    package static func names(inDatabase file: String) -> [String] {
        let text = (try? readFile(file, limit: 1 << 20)) ?? []
        return text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            line.first == UInt8(ascii: "#")
                ? nil
                : line.firstIndex(of: UInt8(ascii: ":")).flatMap {
                    String(validating: line[..<$0], as: UTF8.self)
                }
        }
    }
}
