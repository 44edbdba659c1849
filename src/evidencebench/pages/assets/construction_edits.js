showConstruction(document.getElementById("viewer"));
