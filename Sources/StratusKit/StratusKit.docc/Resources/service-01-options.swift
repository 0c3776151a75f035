var options = Stratus.Options()
options.schemaMode = .production  // refuses types and fields that no schema names
options.quotaByteCount = 1 << 30  // what one person may keep
options.assetByteCount = 50 << 20
options.shareURLBase = "https://app.example.com/share/"
options.cacheByteCount = 256 << 20
