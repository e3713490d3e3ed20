import Engine
import Schedule
import WatchFile

extension ByteWriter {
    mutating func put(_ command: CommandFact) {
        let isNamed = if case .named = command.user { true } else { false }
        put(
            flags(
                command.name != nil, command.key != nil, command.notBefore != nil, command.isBarrier, isNamed,
                command.timeout != .infinity, command.call != nil, command.holder != nil))
        put(UInt64(command.arguments.count))
        for argument in command.arguments { put(argument) }
        put(UInt64(command.environment.count))
        for variable in command.environment {
            put(variable.name)
            put(variable.value)
        }
        put(command.folder)
        put(UInt64(command.mask))
        switch command.user {
        case .named(let name): put(name)
        case .credentials(let credentials):
            put(UInt64(credentials.user))
            put(UInt64(credentials.group))
            put(UInt64(credentials.groups.count))
            for group in credentials.groups { put(UInt64(group)) }
        }
        if let name = command.name { put(name) }
        if let key = command.key { put(key) }
        if let time = command.notBefore { put(time) }
        put(command.retries)
        if command.timeout != .infinity { put(command.timeout.microseconds) }
        put(byte: command.priority.stateNumber)
        if let call = command.call { put(call) }
        if let holder = command.holder {
            put(holder.process)
            put(holder.started)
        }
    }

    private mutating func put(_ call: CommandFact.Call) {
        switch call {
        case .run(let name, let paths, let lines, let data):
            put(byte: 0)
            put(name)
            for list in [paths, lines] {
                put(UInt64(list.count))
                for item in list { put(item) }
            }
            put(flags(data != nil))
            if let data { put(data) }
        case .emit(let name, let fact):
            put(byte: 1)
            put(name)
            put(flags(fact.data != nil, fact.payload != nil))
            if let data = fact.data { put(data) }
            if let payload = fact.payload { put(payload) }
        }
    }
}

extension ByteReader {
    /// With these times can be reckoned.
    private static let latest: Int64 = 1 << 60

    mutating func command() throws(DamagedBytes) -> CommandFact {
        let bits = try flags(0xFF)
        let arguments = try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.content() }
        let environment = try list(ofAtLeast: 2) { reader throws(DamagedBytes) in
            EnvironmentVariable(name: try reader.text(), value: try reader.content())
        }
        let (folder, mask) = (try content(), try number32())
        guard !arguments.isEmpty, mask <= 0o777 else { throw DamagedBytes() }
        var command = CommandFact(
            arguments, environment: environment, folder: folder, mask: mask,
            user: bits & 0x10 != 0 ? .named(try text()) : .credentials(try credentials()))
        command.name = try text(if: bits & 1 != 0)
        command.key = try content(if: bits & 2 != 0)
        command.notBefore = try signed(if: bits & 4 != 0)
        guard (0...Self.latest).contains(command.notBefore ?? 0) else { throw DamagedBytes() }
        command.isBarrier = bits & 8 != 0
        command.retries = try int(0...Int(Int32.max))
        if bits & 0x20 != 0 { command.timeout = TimeSpan(microseconds: try unsigned()) }
        command.priority = try number()
        if bits & 0x40 != 0 { command.call = try call() }
        if bits & 0x80 != 0 { command.holder = CommandFact.Holder(process: try int32(), started: try signed()) }
        return command
    }

    private mutating func call() throws(DamagedBytes) -> CommandFact.Call {
        let (kind, name) = (try byte(), try text())
        switch kind {
        case 0:
            let paths = try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.content() }
            let lines = try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.content() }
            let bits = try flags(1)
            return .run(name: name, paths: paths, lines: lines, data: try signed(if: bits & 1 != 0))
        case 1:
            let bits = try flags(3)
            let data = try signed(if: bits & 1 != 0)
            return .emit(name: name, CustomFact(data: data, payload: try content(if: bits & 2 != 0)))
        default: throw DamagedBytes()
        }
    }

    private mutating func credentials() throws(DamagedBytes) -> UserCredentials {
        UserCredentials(
            user: try number32(), group: try number32(),
            groups: try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.number32() })
    }

    private mutating func number32() throws(DamagedBytes) -> UInt32 { try within(UInt32(exactly: unsigned())) }
}
