// swift-tools-version: 6.2
import PackageDescription

/// Swift 6 mode, explicit imports, and a warning is an error.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// Modules that a source would import without a word. Each is in the way of a small program that starts quickly.
let explicitly: [SwiftSetting] = [
    .unsafeFlags([
        "-Xfrontend", "-disable-implicit-string-processing-module-import",
        "-Xfrontend", "-disable-implicit-concurrency-module-import",
    ]),
    // A section for each function: the linker leaves out those that nobody calls, and puts the others into an order.
    .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
]

/// A library is optimised in a debug build as well, with its assertions: a test is not slow for what nobody debugs.
/// `rim` and `seldom` say where that is not worth its time.
let tested: [SwiftSetting] = [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]

/// A library target; its dependencies are the only modules it may import (the build is run with
/// `--explicit-target-dependency-import-check error`).
func library(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings + explicitly + tested)
}

/// A library in which tests spend little time: to optimise a debug build of it takes longer than they save.
func rim(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings + explicitly)
}

/// A library that is not on the way of an event: of a release it is small rather than fast.
func seldom(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(
        name: name, dependencies: dependencies,
        swiftSettings: settings + explicitly + [.unsafeFlags(["-Osize"], .when(configuration: .release))])
}

/// Of a release, all symbols are bound at the start, and what is bound cannot be written afterwards (`ld -z now`). No
/// symbol is there for others (`-static-stdlib` asks for it), and relocations are packed (glibc 2.36): two megabytes
/// less, and less to do at the start. Functions that events need stand together (`systemd/link-order`).
func program(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    let options = [
        "-z", "now", "-z", "pack-relative-relocs", "--no-export-dynamic", "--no-warn-symbol-ordering",
        "--symbol-ordering-file=\(Context.packageDirectory)/systemd/functions",
    ].flatMap { ["-Xlinker", $0] }
    return .executableTarget(
        name: name, dependencies: dependencies, swiftSettings: settings + explicitly,
        linkerSettings: [.unsafeFlags(["-use-ld=lld"] + options, .when(configuration: .release))])
}

/// Tests of the target of that name; `data` are files beside them that the tests read themselves.
func tests(_ name: String, _ dependencies: Target.Dependency..., data: [String] = []) -> Target {
    .testTarget(name: name + "Tests", dependencies: dependencies, exclude: data, swiftSettings: settings)
}

/// A static program in C, with nothing of Swift's runtime in it.
func small(_ name: String, path: String) -> Target {
    .executableTarget(
        name: name, path: path, linkerSettings: [.unsafeFlags(["-static-executable", "-nostartfiles"])])
}

let package = Package(
    name: "watchd",
    products: [
        .executable(name: "watchd", targets: ["watchd"]),
        .executable(name: "watchctl", targets: ["watchctl"]),
    ],
    targets: [
        // What the system gives.
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "CLinux"),

        // Pure: no clock, no descriptor, no thread.
        library("Schedule"),
        seldom("WatchFile", "Schedule"),
        library("Engine", "WatchFile", "Schedule"),

        library("JSON"),

        // The rim.
        library("LinuxSystem", "CLinux"),
        rim("Systemd", "CSystemd", "LinuxSystem"),
        library("Store", "CSQLite", "LinuxSystem"),
        library("Varlink", "JSON", "LinuxSystem"),
        rim("ControlInterface", "Varlink", "JSON"),
        seldom("ConfigurationFiles", "WatchFile", "LinuxSystem"),
        seldom("TimeZoneFiles", "Schedule", "LinuxSystem"),
        rim("EventSources", "LinuxSystem", "Engine", "WatchFile", "Schedule"),
        rim("Handlers", "EventSources", "JSON", "LinuxSystem", "Systemd", "Engine", "WatchFile", "Schedule"),
        rim(
            "Daemon", "Handlers", "EventSources", "ControlInterface", "Varlink", "ConfigurationFiles", "TimeZoneFiles",
            "Store", "Systemd", "JSON", "LinuxSystem", "Engine", "WatchFile", "Schedule"),

        // The client is a library, so that one program may have both names (`Sources/watchd/Watchd.swift`).
        seldom(
            "ControlClient", "ControlInterface", "Varlink", "ConfigurationFiles", "TimeZoneFiles", "JSON", "WatchFile",
            "Schedule", "LinuxSystem"),

        program("watchd", "Daemon", "ControlClient", "ControlInterface", "WatchFile", "LinuxSystem"),
        program("watchctl", "ControlClient"),

        tests("Schedule", "Schedule", "SeedKit", "ProgramKit", "LinuxSystem", data: ["Oracle"]),
        tests("TimeZoneFiles", "TimeZoneFiles", "Schedule", "ProgramKit", "LinuxSystem"),
        tests("WatchFile", "WatchFile", "Schedule", "SeedKit", data: ["Diagnostics"]),
        tests("Engine", "Engine", "WatchFile", "Schedule", "SeedKit", "ProgramKit"),
        // What tests with random programs share: seeds, and numbers from them.
        .target(name: "SeedKit", path: "Tests/SeedKit", swiftSettings: settings),
        // Dispatch and Foundation say what the engine has to do.
        tests("DispatchOracle", "Engine", "WatchFile", "Schedule", "LinuxSystem", "SeedKit", "ProgramKit"),
        tests("LinuxSystem", "LinuxSystem", "ProgramKit"),
        tests("Store", "Store", "LinuxSystem", "ProgramKit", "SeedKit"),
        tests(
            "Daemon", "Daemon", "Handlers", "Store", "Engine", "EventSources", "WatchFile", "ControlInterface",
            "ControlKit",
            "Varlink", "JSON", "LinuxSystem", "ProgramKit", "SeedKit"),
        tests("ConfigurationFiles", "ConfigurationFiles", "ProgramKit", "WatchFile", "LinuxSystem"),
        tests("JSON", "JSON", "SeedKit"),
        tests("Varlink", "Varlink", "JSON", "SeedKit", "LinuxSystem"),
        // What several tests share: a service that answers as it is told, and values for it to say.
        .target(
            name: "ControlKit", dependencies: ["ControlInterface", "Varlink", "JSON", "LinuxSystem"],
            path: "Tests/ControlKit",
            swiftSettings: settings),
        tests("ControlInterface", "ControlInterface", "ControlKit", "ProgramKit", "Varlink", "JSON"),
        tests(
            "watchctl", "ControlClient", "watchctl", "ControlInterface", "ControlKit", "ProgramKit", "TimeZoneFiles",
            "Varlink", "JSON",
            "Schedule", "LinuxSystem"),
        // What tests of real programs share: folders, programs, waiting.
        .target(
            name: "ProgramKit", dependencies: ["LinuxSystem", "SeedKit"], path: "Tests/ProgramKit",
            swiftSettings: settings),
        tests("EventSources", "EventSources", "ProgramKit", "SeedKit", "Engine", "WatchFile", "LinuxSystem"),
        tests(
            "Handlers", "Handlers", "EventSources", "Systemd", "ProgramKit", "Engine", "WatchFile", "Schedule",
            "LinuxSystem"),
        // The programs are dependencies so that they are built; nothing of them is imported.
        tests(
            "Systemd", "Systemd", "ProgramKit", "LinuxSystem", "watchd", "watchctl", data: ["real-systemd.sh"]),
        tests(
            "EndToEnd", "ProgramKit", "SeedKit", "ControlInterface", "Varlink", "JSON", "LinuxSystem", "watchd",
            "watchctl",
            data: ["Scenarios", "messages.txt"]),

        // Measured, not shipped: what watchd costs, against a floor in C.
        .executableTarget(
            name: "watchd-bench",
            dependencies: [
                "Engine", "WatchFile", "Schedule", "TimeZoneFiles", "Store", "ControlInterface", "Varlink", "JSON",
                "CSQLite",
                "LinuxSystem", "CInstructions",
            ],
            path: "Tests/Benchmarks/watchd-bench", swiftSettings: settings),
        .target(name: "CInstructions", path: "Tests/Benchmarks/CInstructions"),
        small("watchd-bench-floor", path: "Tests/Benchmarks/watchd-bench-floor"),
        small("watchd-bench-handler", path: "Tests/Benchmarks/watchd-bench-handler"),
    ]
)
