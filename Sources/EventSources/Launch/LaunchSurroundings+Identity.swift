import LinuxSystem
import WatchFile

/// `User=`, `Group=`, `SupplementaryGroups=`: who a process runs as.
extension LaunchSurroundings {
    static func account(_ contract: ProcessContract) throws(LaunchFailure) -> Account? {
        guard let user = contract.user else { return nil }
        do throws(SystemError) {
            guard let number = UInt32(user) else {
                if let account = try Linux.account(named: user) { return account }
                throw SystemError(call: "getpwnam_r", errno: .noSuchFile)
            }
            if let account = try Linux.account(of: number) { return account }
            // Nobody knows the group of a number that is nobody's.
            guard contract.group != nil else { throw SystemError(call: "getpwuid_r", errno: .noSuchFile) }
            return Account(
                name: user, userID: number, groupID: 0, home: Array("/".utf8), shell: Array("/bin/sh".utf8))
        } catch  where error.errno == .noSuchFile {
            let help = UInt32(user) == nil ? "" : "; with Group= it needs none"
            throw LaunchFailure(reason: "User=\(user): there is no such user\(help)")
        } catch {
            throw LaunchFailure(reason: "User=\(user) cannot be looked up: \(error)")
        }
    }

    /// A user without an account any more has no right to anything.
    static func account(of credentials: UserCredentials) throws(LaunchFailure) -> Account {
        do throws(SystemError) {
            if let account = try Linux.account(of: credentials.user) { return account }
        } catch {
            throw LaunchFailure(reason: "user \(credentials.user) cannot be looked up: \(error)")
        }
        throw LaunchFailure(reason: "there is no user \(credentials.user)")
    }

    static func identity(
        _ credentials: UserCredentials
    ) throws(LaunchFailure) -> ProcessAttributes.Identity? {
        let own = Linux.effectiveUserID
        guard own == 0 else {
            if credentials.user == own { return nil }
            throw LaunchFailure(
                reason: "it is to run as user \(credentials.user), which watchd, running as user \(own), cannot become")
        }
        let isOwn = credentials.user == own && credentials.group == Linux.effectiveGroupID
        if isOwn, Set(credentials.groups) == Set(Linux.groups) { return nil }
        return ProcessAttributes.Identity(
            user: credentials.user, group: credentials.group, groups: credentials.groups)
    }

    static func group(_ name: String, _ key: String) throws(LaunchFailure) -> UInt32 {
        if let number = UInt32(name) { return number }
        do throws(SystemError) {
            if let number = try Linux.groupID(named: name) { return number }
        } catch {
            throw LaunchFailure(reason: "\(key)=\(name) cannot be looked up: \(error)")
        }
        throw LaunchFailure(reason: "\(key)=\(name): there is no such group")
    }

    static func identity(
        _ contract: ProcessContract, _ account: Account?
    ) throws(LaunchFailure) -> ProcessAttributes.Identity? {
        var result = ProcessAttributes.Identity(user: account?.userID, group: account?.groupID)
        if let name = contract.group { result.group = try group(name, "Group") }
        var more: [UInt32] = []
        for name in contract.supplementaryGroups { more.append(try group(name, "SupplementaryGroups")) }
        if let account, let group = result.group {
            result.groups = Linux.groups(of: account.name, with: group)
        } else if !more.isEmpty {
            result.groups = Linux.groups
        }
        let known = Set(result.groups ?? [])
        result.groups?.append(contentsOf: more.filter { !known.contains($0) })
        if result == ProcessAttributes.Identity() || isOwn(result, more) { return nil }
        return result
    }

    /// Without privileges a process can become nobody but who it is, and that it need not.
    static func isOwn(_ identity: ProcessAttributes.Identity, _ more: [UInt32]) -> Bool {
        guard Linux.effectiveUserID != 0 else { return false }
        return identity.user ?? Linux.effectiveUserID == Linux.effectiveUserID
            && identity.group ?? Linux.effectiveGroupID == Linux.effectiveGroupID
            && Set(more).isSubset(of: Linux.groups + [Linux.effectiveGroupID])
    }

    static func variables(of account: Account) -> [EnvironmentVariable] {
        let name = Array(account.name.utf8)
        return [
            EnvironmentVariable(name: "HOME", value: account.home.isEmpty ? Array("/".utf8) : account.home),
            EnvironmentVariable(name: "USER", value: name), EnvironmentVariable(name: "LOGNAME", value: name),
            EnvironmentVariable(
                name: "SHELL", value: account.shell.isEmpty ? Array("/bin/sh".utf8) : account.shell),
        ]
    }

    static func home(_ account: Account?) throws(LaunchFailure) -> [UInt8] {
        let own = account == nil ? (try? Linux.account(of: Linux.effectiveUserID)) ?? nil : nil
        guard let home = (account ?? own)?.home, home.first == UInt8(ascii: "/") else {
            let who = account?.name ?? "\(Linux.effectiveUserID)"
            throw LaunchFailure(reason: "WorkingDirectory=~: user \(who) has no home")
        }
        return home
    }
}
