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

/// A library target; its dependencies are the only modules it may import (the build is run with
/// `--explicit-target-dependency-import-check error`).
func library(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// Of a release, all symbols are bound at the start, and what is bound cannot be written afterwards (`ld -z now`).
func program(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, swiftSettings: settings,
        linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"], .when(configuration: .release))])
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
        library("WatchFile", "Schedule"),
        library("Engine", "WatchFile", "Schedule"),

        // The rim.
        library("LinuxSystem", "CLinux"),
        library("Systemd", "CSystemd", "LinuxSystem"),
        library("Store", "CSQLite", "LinuxSystem"),
        library("Varlink", "LinuxSystem"),
        library("ControlInterface", "Varlink"),
        library("ConfigurationFiles", "WatchFile", "LinuxSystem"),
        library("TimeZoneFiles", "Schedule", "LinuxSystem"),
        library("EventSources", "LinuxSystem", "Engine", "WatchFile", "Schedule"),
        library("Handlers", "EventSources", "LinuxSystem", "Systemd", "Engine", "WatchFile", "Schedule"),
        library(
            "Daemon", "Handlers", "EventSources", "ControlInterface", "Varlink", "ConfigurationFiles", "TimeZoneFiles",
            "Store", "Systemd", "LinuxSystem", "Engine", "WatchFile", "Schedule"),

        program("watchd", "Daemon", "ControlInterface", "WatchFile", "LinuxSystem"),
        program(
            "watchctl", "ControlInterface", "Varlink", "ConfigurationFiles", "TimeZoneFiles", "WatchFile", "Schedule",
            "LinuxSystem"),

        tests("Schedule", "Schedule", "SeedKit", "ProgramKit", "LinuxSystem", data: ["Oracle"]),
        tests("TimeZoneFiles", "TimeZoneFiles", "Schedule", "ProgramKit", "LinuxSystem"),
        tests("WatchFile", "WatchFile", "Schedule", "SeedKit", data: ["Diagnostics"]),
        tests("Engine", "Engine", "WatchFile", "Schedule", "SeedKit"),
        // What tests with random programs share: seeds, and numbers from them.
        .target(name: "SeedKit", path: "Tests/SeedKit", swiftSettings: settings),
        // Dispatch and Foundation say what the engine has to do.
        tests("DispatchOracle", "Engine", "WatchFile", "Schedule", "LinuxSystem", "SeedKit"),
        tests("LinuxSystem", "LinuxSystem", "ProgramKit"),
        tests("Store", "Store", "LinuxSystem", "ProgramKit", "SeedKit"),
        tests("Daemon", "Daemon", "Handlers", "Store", "Engine", "WatchFile", "LinuxSystem", "ProgramKit", "SeedKit"),
        tests("ConfigurationFiles", "ConfigurationFiles", "ProgramKit", "WatchFile", "LinuxSystem"),
        tests("Varlink", "Varlink", "SeedKit", "LinuxSystem"),
        // What several tests share: a service that answers as it is told, and values for it to say.
        .target(
            name: "ControlKit", dependencies: ["ControlInterface", "Varlink", "LinuxSystem"], path: "Tests/ControlKit",
            swiftSettings: settings),
        tests("ControlInterface", "ControlInterface", "ControlKit", "ProgramKit", "Varlink"),
        tests(
            "watchctl", "watchctl", "ControlInterface", "ControlKit", "ProgramKit", "TimeZoneFiles", "Varlink",
            "Schedule", "LinuxSystem"),
        // What tests of real programs share: folders, programs, waiting.
        .target(
            name: "ProgramKit", dependencies: ["LinuxSystem", "SeedKit"], path: "Tests/ProgramKit",
            swiftSettings: settings),
        tests("EventSources", "EventSources", "ProgramKit", "SeedKit", "Engine", "WatchFile", "LinuxSystem"),
        tests("Handlers", "Handlers", "EventSources", "ProgramKit", "Engine", "WatchFile", "LinuxSystem"),
        // The programs are dependencies so that they are built; nothing of them is imported.
        tests(
            "Systemd", "Systemd", "ProgramKit", "LinuxSystem", "watchd", "watchctl", data: ["real-systemd.sh"]),
        tests(
            "EndToEnd", "ProgramKit", "SeedKit", "ControlInterface", "Varlink", "LinuxSystem", "watchd", "watchctl",
            data: ["Scenarios", "messages.txt"]),

        // Measured, not shipped: what watchd costs, against a floor in C.
        .executableTarget(
            name: "watchd-bench",
            dependencies: [
                "Engine", "WatchFile", "Schedule", "TimeZoneFiles", "Store", "ControlInterface", "Varlink", "CSQLite",
                "LinuxSystem", "CInstructions",
            ],
            path: "Tests/Benchmarks/watchd-bench", swiftSettings: settings),
        .target(name: "CInstructions", path: "Tests/Benchmarks/CInstructions"),
        small("watchd-bench-floor", path: "Tests/Benchmarks/watchd-bench-floor"),
        small("watchd-bench-handler", path: "Tests/Benchmarks/watchd-bench-handler"),
    ]
)
