/// A key of a section: its spelling and what may stand behind the `=`.
struct Key {
    let name: String
    let type: ValueType
    /// A list may be given several times in a section and grows by drop-ins; anything else is given once and replaced.
    let isList: Bool
    /// The others are known, but their feature is not built yet.
    let isSupported: Bool
    /// The default, as a file would write it; `nil`: there is none, or it depends on something else.
    let usual: String?

    static func one(_ name: String, _ type: ValueType, usual: String? = nil) -> Key {
        Key(name: name, type: type, isList: false, isSupported: true, usual: usual)
    }

    static func list(_ name: String, _ type: ValueType, usual: String? = nil) -> Key {
        Key(name: name, type: type, isList: true, isSupported: true, usual: usual)
    }

    /// A single value that this version refuses.
    static func later(_ name: String, _ type: ValueType) -> Key {
        Key(name: name, type: type, isList: false, isSupported: false, usual: nil)
    }

    /// A list that this version refuses.
    static func laterList(_ name: String, _ type: ValueType) -> Key {
        Key(name: name, type: type, isList: true, isSupported: false, usual: nil)
    }
}

/// The type of a value, and the bounds it is checked against.
enum ValueType {
    case flag
    case number(ClosedRange<Int>)
    case numberOrInfinity(ClosedRange<Int>)
    /// A number that may have a sign.
    case signed(ClosedRange<Int>)
    /// `LIMIT`, or `SOFT:HARD`.
    case resourceLimit(ResourceLimit.Resource)
    /// Bytes, with the suffixes `K`, `M`, `G` (1024).
    case size(ClosedRange<Int>)
    /// As `size`, or `infinity`.
    case sizeOrInfinity(ClosedRange<Int>)
    /// `NUMBER%`.
    case percent(ClosedRange<Int>)
    /// `NUMBER`, or `NUMBER%` of those that a user may have.
    case watches
    case span(SpanRule)
    /// One of some words; `later` are known and refused.
    case choice([String], later: [String] = [])
    /// Several of some words.
    case choices([String], later: [String] = [])
    /// A name; several, where the key is a list.
    case names
    /// Names of handlers, and `process/NAME`.
    case predecessors
    /// Names of the units of a semaphore, separated by spaces.
    case members
    /// Names of semaphores, each with or without `:COUNT`.
    case counts(ClosedRange<Int>)
    /// `COUNT/SPAN`.
    case rate
    case signal
    /// Several signals, none of those that watchd refuses to claim.
    case claimedSignals
    case exitStatuses
    /// Several things that a process does.
    case processEvents
    case text
    /// One absolute path: the whole value.
    case path
    /// An absolute path, or `~`.
    case folder
    /// `PATH`, or `-PATH`.
    case environmentFile
    /// Names of variables, separated by spaces.
    case variableNames
    /// Names of credentials, separated by spaces.
    case credentials
    /// A user or a group, by name or number.
    case account
    /// Several of them, separated by spaces.
    case accounts
    /// Absolute paths with globs, separated by spaces.
    case paths
    /// Globs on paths below a folder, separated by spaces.
    case globs
    /// The name of a file in a folder: the whole value.
    case fileName
    /// One absolute path with globs: the whole value.
    case pathPattern
    case output
    /// `PATH`, or `!PATH`.
    case pathCondition
    /// Names of systemd units, or globs.
    case units
    /// Names of systemd units, with specifiers in the instance of a template.
    case unitTemplates
    case environment
    case command
    /// Text with specifiers.
    case template
    /// As `template`, or `none`, or empty.
    case key
    /// `NAME [DATA]`.
    case emission
    case address
    /// Addresses of mail, separated by spaces.
    case mailAddresses
    /// `FAMILY GROUPS`, as `ListenNetlink=` of `systemd.socket(5)`.
    case netlink
    /// `RESOURCE some|full STALL WINDOW`.
    case pressure
    /// `users`, or `group:NAME`.
    case submitters
    /// A POSIX extended regular expression: the whole value.
    case pattern
    case mode
    /// A calendar expression: the whole value.
    case calendar
    /// Five fields of crontab(5).
    case cron
    /// `CALENDAR for SPAN`.
    case window
    /// `ac-power`, `network-online`, `pressure:…`, `path:…`, `unit:…`.
    case holdConditions
    /// Of a unit (`RunIn=unit`).
    case unitProperty(UnitForm)
}

/// Which spans a key takes. None but `infinity` is longer than `ValueReader.maximumSpan`.
enum SpanRule {
    /// 0 and `infinity` too.
    case any
    /// 0 too, but not `infinity`.
    case finite
    /// Longer than 0; `infinity` means no limit.
    case limit
    /// At least 1 ms, and not `infinity`.
    case period
    /// As `period`; 0 means at once and is read as 1 ms.
    case delay
}
