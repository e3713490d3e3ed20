import Schedule

/// The value behind a key, read by its type.
enum Value {
    case flag(Bool)
    case number(Int)
    /// `nil`: `infinity`.
    case limit(Int?)
    case resourceLimit(ResourceLimit)
    case watches(WatchLimit)
    case span(TimeSpan)
    case word(String)
    case words([String])
    case names([Name])
    case counts([Count])
    case rate(RateLimit)
    case signals([NumberedSignal])
    case exitStatuses(ExitStatusSet)
    case text(String)
    case path([UInt8])
    case paths([PathPattern])
    case globs([PathGlob])
    case pathPattern(PathPattern)
    case output(StandardOutput)
    case pathCondition(PathCondition)
    case environment([EnvironmentVariable])
    case environmentFile(EnvironmentFile)
    case command(CommandText)
    case template(TemplateText)
    case key(KeyText)
    case emission(Emission)
    case templates([TemplateText])
    case address(SocketAddress)
    case calendar(CalendarExpression)
    case cron(CronExpression)
    case window(CalendarWindow)
    case holdConditions([HoldCondition])
    case netlink(NetlinkFamily)
    case pressure(PressureLimit)
    case pattern([UInt8])
    case submitters(QueueDefinition.Submitters)
    case unitProperty(UnitProperty)

    /// A reference, and where it stands.
    struct Name {
        var string: String
        var text: SourceText
    }

    /// `NAME` or `NAME:COUNT`.
    struct Count {
        var name: Name
        var count: Int
        /// The whole word.
        var text: SourceText
    }

    struct NumberedSignal {
        var number: Int32
        var text: SourceText
    }

    enum KeyText {
        case handler
        case none
        case template(TemplateText)
    }

    /// `Emit=`.
    struct Emission {
        var source: Name
        var data: TemplateText?
    }
}

extension Value {
    var flag: Bool? { if case .flag(let value) = self { value } else { nil } }
    var number: Int? { if case .number(let value) = self { value } else { nil } }
    var limit: Int?? { if case .limit(let value) = self { .some(value) } else { nil } }
    var resourceLimit: ResourceLimit? { if case .resourceLimit(let value) = self { value } else { nil } }
    var watches: WatchLimit? { if case .watches(let value) = self { value } else { nil } }
    var span: TimeSpan? { if case .span(let value) = self { value } else { nil } }
    var word: String? { if case .word(let value) = self { value } else { nil } }
    var words: [String] { if case .words(let value) = self { value } else { [] } }
    var names: [Name] { if case .names(let value) = self { value } else { [] } }
    var counts: [Count] { if case .counts(let value) = self { value } else { [] } }
    var rate: RateLimit? { if case .rate(let value) = self { value } else { nil } }
    var signals: [NumberedSignal] { if case .signals(let value) = self { value } else { [] } }
    var exitStatuses: ExitStatusSet? { if case .exitStatuses(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
    var path: [UInt8]? { if case .path(let value) = self { value } else { nil } }
    var paths: [PathPattern] { if case .paths(let value) = self { value } else { [] } }
    var globs: [PathGlob] { if case .globs(let value) = self { value } else { [] } }
    var pathPattern: PathPattern? { if case .pathPattern(let value) = self { value } else { nil } }
    var output: StandardOutput? { if case .output(let value) = self { value } else { nil } }
    var pathCondition: PathCondition? { if case .pathCondition(let value) = self { value } else { nil } }
    var environment: [EnvironmentVariable] { if case .environment(let value) = self { value } else { [] } }
    var environmentFile: EnvironmentFile? { if case .environmentFile(let value) = self { value } else { nil } }
    var command: CommandText? { if case .command(let value) = self { value } else { nil } }
    var template: TemplateText? { if case .template(let value) = self { value } else { nil } }
    var templates: [TemplateText] { if case .templates(let value) = self { value } else { [] } }
    var key: KeyText? { if case .key(let value) = self { value } else { nil } }
    var emission: Emission? { if case .emission(let value) = self { value } else { nil } }
    var address: SocketAddress? { if case .address(let value) = self { value } else { nil } }
    var calendar: CalendarExpression? { if case .calendar(let value) = self { value } else { nil } }
    var cron: CronExpression? { if case .cron(let value) = self { value } else { nil } }
    var window: CalendarWindow? { if case .window(let value) = self { value } else { nil } }
    var holdConditions: [HoldCondition] { if case .holdConditions(let value) = self { value } else { [] } }
    var netlink: NetlinkFamily? { if case .netlink(let value) = self { value } else { nil } }
    var pressure: PressureLimit? { if case .pressure(let value) = self { value } else { nil } }
    var submitters: QueueDefinition.Submitters? { if case .submitters(let value) = self { value } else { nil } }
    var unitProperty: UnitProperty? { if case .unitProperty(let value) = self { value } else { nil } }
    var pattern: [UInt8]? { if case .pattern(let value) = self { value } else { nil } }
}
