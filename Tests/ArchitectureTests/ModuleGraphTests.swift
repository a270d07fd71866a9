import Foundation
import Testing

/// The targets are the architecture: these tests fix the directions of their dependencies.
@Suite struct ModuleGraphTests {
    @Test func eachTargetDependsOnlyOnTargetsAboveIt() throws {
        let graph = try PackageGraph.package.get()
        try #require(graph.sources.count > 20)
        var above: Set<String> = []
        for target in graph.sources {
            #expect(
                Set(target.targets).isSubset(of: above),
                "\(target.name) depends on \(target.targets.filter { !above.contains($0) }), which stand below it")
            above.insert(target.name)
        }
    }

    /// An import without a declared dependency builds only by chance, through the dependency of another target.
    @Test func eachImportOfOurTargetsIsDeclared() throws {
        let graph = try PackageGraph.package.get()
        let modules = Set(graph.targets.map(\.name))
        for target in graph.targets {
            let imports = try graph.imports(of: target)
            let undeclared = imports.keys.filter { modules.contains($0) && !target.targets.contains($0) }
            #expect(undeclared.isEmpty, "\(target.name) imports \(undeclared) without a dependency")
            let unused = target.targets.filter {
                imports[$0] == nil && target.kind != "testTarget" && graph[$0]?.kind == "target"
            }
            #expect(unused.isEmpty, "\(target.name) depends on \(unused) and imports none of them")
        }
    }

    /// A package that `init` makes depends on this one: with a target of the same name, it can't be built.
    @Test func initMakesNoTargetOfThisPackage() throws {
        let graph = try PackageGraph.package.get()
        let bundles = graph.targets.map(\.name).filter { $0.hasSuffix("Functions") }
        try #require(bundles.count > 5)
        let rules = try String(
            contentsOf: graph.root.appendingPathComponent("Sources/functions-host/Init/BundleName.swift"),
            encoding: .utf8)
        for bundle in bundles { #expect(rules.contains("\"\(bundle)\""), "\(bundle)") }
    }

    @Test func onlyTheEmbeddedEngineImportsGRDB() throws {
        let graph = try PackageGraph.package.get()
        for target in graph.sources where target.name != "SQLiteStorage" {
            #expect(!target.products.contains { $0.hasPrefix("GRDB") }, "\(target.name)")
            #expect(try graph.imports(of: target).keys.allSatisfy { !$0.hasPrefix("GRDB") }, "\(target.name)")
        }
        #expect(try graph.imports(of: try #require(graph["SQLiteStorage"])).keys.contains("GRDB"))
    }

    @Test func aStandaloneBundleLinksNoStoreNoSignInAndNoDeployments() throws {
        let (targets, products) = try PackageGraph.package.get().closure(of: "FunctionsServing")
        #expect(targets.contains("Gateway"))
        let excluded: Set = [
            "StorageEngine", "SQLiteStorage", "CommitPipeline", "DocumentStore", "EventDispatch", "IdentityProvider",
            "Deployments", "HostConfiguration", "FunctionsHost",
        ]
        #expect(targets.isDisjoint(with: excluded), "\(targets.intersection(excluded))")
        #expect(!products.contains { $0.hasPrefix("GRDB") })
    }

    /// What authors test with has users and documents in memory, without the embedded engine.
    @Test func theTesterLinksNoDatabase() throws {
        let (targets, products) = try PackageGraph.package.get().closure(of: "FunctionsTesting")
        #expect(targets.isSuperset(of: ["DocumentStore", "UserStore"]))
        #expect(targets.isDisjoint(with: ["SQLiteStorage", "HostConfiguration", "FunctionsHost"]))
        #expect(!products.contains { $0.hasPrefix("GRDB") })
    }

    /// A worker starts in milliseconds because it loads neither Foundation nor a server nor a database.
    @Test func theAuthorsRuntimeHasFewDependencies() throws {
        let graph = try PackageGraph.package.get()
        let (targets, products) = graph.closure(of: "FunctionsRuntime")
        #expect(products == ["NIOCore", "Logging"])
        for name in targets.union(["FunctionsRuntime"]) {
            let imports = try graph.imports(of: try #require(graph[name]))
            #expect(imports["Foundation"] == nil, "\(name): \(imports["Foundation"] ?? "")")
        }
        #expect(graph["ShopFunctions"]?.targets == ["FunctionsRuntime"])
        #expect(graph["ChatFunctions"]?.targets == ["FunctionsRuntime"])
    }

    @Test func eachTargetWithLogicHasATestTarget() throws {
        let graph = try PackageGraph.package.get()
        let tests = Set(graph.targets.filter { $0.kind == "testTarget" }.map(\.name))
        // The callers of the C targets test their functions; the end-to-end tests cover the wiring and the command
        // line. FirestoreMessages is generated.
        let withoutOwn: Set = [
            "CFunctionsSystem", "CPasswordHashing", "CMailTransfer", "CSQLiteLog", "functions-host",
            "FirestoreMessages",
        ]
        for target in graph.sources where !withoutOwn.contains(target.name) && target.kind != "systemLibrary" {
            #expect(tests.contains(target.name + "Tests"), "\(target.name)")
        }
    }
}
